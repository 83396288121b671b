# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration: Markdown by MyST, the theme Furo, nothing that a reader's browser would fetch from elsewhere."""
import os
from pathlib import Path

HERE = Path(os.environ["REPRISE_SITE"])

project = "Reprise"
author = "the Reprise authors"
copyright = ""
html_show_copyright = False
html_show_sphinx = False
html_last_updated_fmt = None
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 6
html_theme = "furo"
html_title = "Reprise"
html_static_path = [str(HERE / "static")]
html_extra_path = [os.environ["REPRISE_PAGES"] + "/extra"]
html_css_files = ["reprise.css"]
html_copy_source = False
html_use_index = False
exclude_patterns = ["extra"]
pygments_style = "friendly"
pygments_dark_style = "native"
html_theme_options = {"navigation_with_keys": False}
