"""What is kept: predictions, the first-turn rule over them, and what else a maintainer asks (paper section 3.3).

Scores, decision and application lie apart: `predictions` are what models said, `first_turn` decides, and `assemble`
applies.
"""
