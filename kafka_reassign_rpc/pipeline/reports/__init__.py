"""HTML pages that need no network, and tables as text.

plan_report.py, result_pages.py    the content of each page
html_page.py          sections, by Jinja2 from templates/
svg_plots.py          draws the plots
result_tables.py      tables as text and as JSON; how many rows are shown (EXCERPT_ROWS); tables and pages in a
                      directory
"""
