// In a frame: tells the page around it how tall it is, and takes that page's
// theme and background.
if (window.parent !== window) {
  const tell = () => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    window.parent.postMessage({ minigrad: "height", height }, "*");
  };
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.data?.minigrad !== "theme") return;
    document.documentElement.style.colorScheme = event.data.theme;
    document.body.dataset.jpThemeLight = String(event.data.theme === "light");
  });
  Object.assign(document.body.style, { padding: 0, background: "transparent" });
  new ResizeObserver(tell).observe(document.documentElement);
  tell();
}
