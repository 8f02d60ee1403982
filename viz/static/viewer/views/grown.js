// On the stage the letters of a view are as large as its part of it allows.

const LEAST = 0.85; // at which they have a 70th of the stage's height

export function fitterOf(box) {
  let larger = 1; // by the reader
  return (stage, by = 1) => {
    const { clientHeight: tall, clientWidth: wide } = (stage && box.parentNode) || {};
    const fits = (zoom) => {
      box.style.zoom = zoom;
      const { scrollHeight, scrollWidth } = box.parentNode;
      return scrollHeight <= tall && scrollWidth <= wide;
    };
    box.style.zoom = "";
    if (!tall) return;
    let zoom = LEAST;
    for (let more = 1; more > 0.04; more /= 2) if (fits(zoom + more)) zoom += more;
    larger = larger * by || 1;
    box.style.zoom = zoom * larger;
  };
}
