"""HTML pages that need no network, and tables as text.

plan_report.py, audit_report.py, history_report.py    the content of each page
html_page.py, page_sections.py    sections, by Jinja2 from templates/
svg_plots.py          draws the plots
result_tables.py      tables as text and as JSON; how many rows are shown (EXCERPT_ROWS)
result_directory.py   tables and pages in a directory
"""
