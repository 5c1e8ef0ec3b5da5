"""The parts of `secateur.audit`: a dump, models as their own libraries have them, and the comparison.

Nothing here uses the extension module: whatever our readers, written in Rust, make of a file is judged, not believed.
"""
