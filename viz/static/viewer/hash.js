// What a page shows, in the hash of its address, so that a link leads there.

const HASH_WAIT = 400; // milliseconds between two: Safari accepts 100 in 30 s, and each takes long

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
