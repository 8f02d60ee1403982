// The clock that all views follow: how many steps are done, and who may move it.

const GLIDE = 250; // milliseconds that a smooth scroll takes: faster steps would never see its end

// n: the number of steps; speed(): steps a second; draw(smooth): shows the present step; told(k):
// the reader or the player has moved the clock; playing(on): the player starts or stops.
export function makeClock(n, { speed, draw, told, playing }) {
  let k = 0,
    drawnAt = -GLIDE,
    timer = null;
  const gates = new Set(); // each may hold the clock back, as predict mode does

  // go: by the program; advance: by the reader or the player; move: by the reader, who stops the
  // player
  function go(to, smooth = true) {
    const wanted = Math.min(n, Math.max(0, Math.round(Number(to) || 0)));
    k = [...gates].reduce((at, limit) => limit(at), wanted);
    const since = drawnAt;
    drawnAt = performance.now();
    draw(smooth && drawnAt - since >= GLIDE);
    return k;
  }
  function advance(to) {
    const was = k;
    if (go(to) !== was) told(k);
  }
  function move(to) {
    stop();
    advance(to);
  }
  function play() {
    if (timer !== null) return stop();
    if (k >= n) advance(0);
    const tick = () => {
      const was = k;
      advance(k + 1);
      const on = k < n && k !== was; // a gate may hold the clock back
      timer = setTimeout(on ? tick : stop, on ? 1000 / speed() : 0);
    };
    timer = setTimeout(tick, 350 / speed());
    playing(true);
  }
  function stop() {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    playing(false);
  }
  return {
    ...{ go, advance, move, play, stop },
    at: () => k,
    held: () => gates.size > 0,
    gate(limit) {
      gates.add(limit);
      return () => gates.delete(limit);
    },
  };
}
