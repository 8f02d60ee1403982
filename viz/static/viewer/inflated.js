// What comes compressed by gzip, as a Response.

export function inflated(bytes) {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser cannot unpack the document; one from 2023 or later can");
  const { readable, writable } = new DecompressionStream("gzip"),
    writer = writable.getWriter();
  // Sooner than a Blob's stream. What is wrong with the bytes is said to who reads the Response.
  for (const done of [writer.write(bytes), writer.close()]) done.catch(() => {});
  return new Response(readable);
}
