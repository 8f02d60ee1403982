"""What becomes of the journal: pure functions from what submissions returned to what people and
other systems read.

    tables.py       a CSV file of which single cells are replaced, and every other byte stays
    lms.py          points into a file that Canvas or Moodle exported
    gradescope.py   results.json for each student, and the zip that grades on Gradescope itself
    gradebook.py    points and comments into nbgrader's gradebook
    site.py         a page a student, HTML and Markdown, and an index
    similarity.py   submissions whose code has the same structure, without the starter code
    report.py       the class: where it went wrong, for how many, and what a person should look at
    export.py       all of it by name, for `minigrad grade export`

None of them runs a student's code, and none changes a grade.
"""
