"""Reports: HTML pages that need no network, and tables as text.

plan_report.py, audit_report.py, history_report.py    the content of each page
html_page.py          makes a page of sections with Jinja2, from templates/
svg_plots.py          draws the plots
page_sections.py      what the pages of audit and history share
result_tables.py      tables as text and as JSON, and how cells are shown
result_directory.py   puts tables and pages into a directory, as a whole
"""
