// Before anything is painted: the theme that was chosen here, if one was.
const chosen = localStorage.getItem("acumen-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
// Without scripts the menu of a narrow page stays unfolded.
document.documentElement.dataset.scripts = "";
