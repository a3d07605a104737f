"""Networks of the kinds that teams ship, with seeded weights: nothing is downloaded, so nothing here is trained.

``registry`` lists them without torch; each other file has one network. They are named by their source, as a user's own
are: ``corstone check corstone_models.gallery.keyword:keyword_spotting --stimulus random``.
"""
