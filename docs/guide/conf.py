"""Settings of Sphinx for the guide. `cargo xtask guide` builds it."""

project = "Narrows"
author = "the Narrows authors"
copyright = "the Narrows authors"  # noqa: A001, the name that Sphinx wants
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["README.md", "extra"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Programs of formulas and console output are no language.
highlight_language = "none"

html_theme = "furo"
html_title = "Narrows"
html_static_path = ["_static"]
# The playground, if it was built.
html_extra_path = ["extra"]
html_css_files = ["narrows.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#6fb1f0", "color-brand-content": "#6fb1f0"},
}
