// A document on its way to the viewer: JSON, compressed by gzip. So a widget gets it in the bytes
// of a message, and a large page holds it as base64.

export async function unpacked(bytes) {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser cannot unpack the document; one from 2023 or later can");
  return new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
  ).json();
}

export function fromBase64(text) {
  const letters = atob(text),
    bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
