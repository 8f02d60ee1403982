"""The page that differentiates what a reader types: `minigrad page -o explore.html`.

The engine in the page is minigrad's own in another language: symbols.py runs the declared rules on
symbols, javascript.py writes them as `rules.js`, and the files in static/ parse formulas, run the
rules and write the Trace. bundle.py joins them with the viewer, page.py makes the document.
"""
