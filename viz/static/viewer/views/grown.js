// On the stage the letters of a view are as large as its part of it allows.

const LEAST = 0.85; // at which they have a 70th of the stage's height
const MOST_LESS = 4;

// draw(less): draws what the box holds again, with less of it where not all fits in such letters:
// 0 is all of it, MOST_LESS the least.
export function fitterOf(box, draw) {
  let larger = 1, // by the reader
    less = 0;
  return (stage, by = 1) => {
    const { clientHeight: tall, clientWidth: wide } = (stage && box.parentNode) || {};
    const fits = (zoom) => {
      box.style.zoom = zoom;
      const { scrollHeight, scrollWidth } = box.parentNode;
      return scrollHeight <= tall && scrollWidth <= wide;
    };
    box.style.zoom = "";
    if (less) draw((less = 0));
    if (!tall) return;
    let zoom = LEAST;
    while (!fits(zoom) && less < MOST_LESS) draw(++less);
    for (let more = 1; more > 0.04; more /= 2) if (fits(zoom + more)) zoom += more;
    larger = larger * by || 1;
    box.style.zoom = zoom * larger;
  };
}
