// What a page shows, in the hash of its address, so that a link leads there.

const HASH_WAIT = 400; // milliseconds between two: Safari accepts 100 in 30 s, and each takes long
export const SAID = 2500; // milliseconds for which a button tells what it has done

// Writes a text to the clipboard, as a button says for a moment that is named `called` otherwise;
// where that is not allowed, puts it into a field to copy from. Returns whether it is written.
export async function copied(text, field, button, called, done = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = done;
    setTimeout(() => (button.textContent = called), SAID);
  } catch {
    field.value = text;
    field.hidden = false;
    field.focus();
    field.select();
    return false;
  }
  return (field.hidden = true);
}

// current(): the hash for what is shown now.
export function keepHash(current) {
  let here = location.hash, // as it was read or written last
    told = null, // what was written last
    waiting = 0; // the timer until the next one may be written
  window.addEventListener("hashchange", () => {
    here = location.hash;
  });
  window.addEventListener("pagehide", () => told !== null && write());

  function write() {
    if (location.hash !== here) return; // after Back, until hashchange tells of it
    history.replaceState(null, "", (told = current()));
    here = location.hash;
  }
  // The first change is in the address at once, what follows soon after it, and all of it when the
  // page is left.
  function changed() {
    if (waiting) return;
    write();
    waiting = setTimeout(() => {
      waiting = 0;
      if (told !== current()) changed();
    }, HASH_WAIT);
  }
  // What is shown now stays in the browser's history: Back leads to it.
  function push() {
    write();
    history.pushState(null, "", location.href);
    clearTimeout(waiting);
    waiting = 0;
  }
  return { changed, push };
}
