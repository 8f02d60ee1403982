// Keys in the field of a program: a new line is as deep as the one before it, or deeper after a
// colon, and Backspace at its beginning takes a level back. A formula of one line ends with Enter.

const LEVEL = "    ";

// Whether Enter ends a text: a program, or what begins one, goes on with its next line.
export const endsWithEnter = (text) => !/\n|:\s*$|^\s*\w+\s*[-+*/]?=(?!=)/.test(text);

export function editing(event) {
  const { target: field, key } = event,
    { selectionStart: at, selectionEnd: end, value } = field;
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
  let text = null;
  if (key === "Enter" && (event.shiftKey || !endsWithEnter(value))) {
    const deeper = /:\s*$/.test(line) ? LEVEL : "";
    text = `\n${/^ */.exec(line)[0]}${deeper}`;
  } else if (key === "Backspace" && at === end && line && !line.trim() && line.endsWith(LEVEL)) {
    field.setSelectionRange(at - LEVEL.length, at);
    text = "";
  }
  if (text === null || text === "\n") return;
  event.preventDefault();
  // the one way to change a field that the browser's Undo takes back
  document.execCommand(text ? "insertText" : "delete", false, text);
}
