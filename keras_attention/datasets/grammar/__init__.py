"""The grammar that the built-in corpus is made from.

In the order in which one builds on another: `inflection`, `lexicon` and
`numbers` have the words, `pieces` joins words of both languages, `noun_phrases`
and `subjects`, `tenses` and `verb_groups` are the parts of a clause, `clauses`
puts them together, `choices` picks which of all possible sentences to make, and
`sentences` has the kinds of sentences.
"""
