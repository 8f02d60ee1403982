// What comes compressed by gzip, as a Response.

export function inflated(bytes) {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser cannot unpack the document; one from 2023 or later can");
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
