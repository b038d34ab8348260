// Runs before the first paint: the theme that was chosen, if one was; else the system's.
(() => {
  try {
    const theme = JSON.parse(localStorage.getItem("etalis.theme"));
    if (theme) document.documentElement.dataset.theme = theme;
  } catch { /* without storage the system decides */ }
})();
