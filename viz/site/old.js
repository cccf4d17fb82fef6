// Says why nothing comes where a browser is too old for the rest; written so that old browsers read it.
(function () {
  function tell() {
    var place = document.getElementById("old");
    if (!place || document.documentElement.getAttribute("data-engine")) return;
    var words = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("site")).textContent).words;
    var language = (/[?&]lang=(\w+)/.exec(location.href) || [])[1] || (navigator.language || "").slice(0, 2);
    place.textContent = (words[language] || words.en).too_old;
  }
  window.addEventListener("error", function (event) {
    if (event.error instanceof SyntaxError) tell();
  });
  window.addEventListener("load", function () {
    if (!("noModule" in document.createElement("script"))) tell();
  });
})();
