// Browsers forbid a page that was opened from a file to read the index of the search.
if (location.protocol === "file:") {
  const note = document.createElement("p");
  note.className = "md-banner__inner";
  note.textContent = "Search needs a server: python -m http.server --directory site, then open http://localhost:8000.";
  document.querySelector(".md-search")?.replaceWith(note);
}
