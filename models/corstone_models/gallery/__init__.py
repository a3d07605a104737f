"""Networks of the kinds that teams ship: nothing is downloaded, so weights are drawn from a seed, or were trained here.

``registry`` lists them without torch; most other files have one network. They are named by their source, as a user's
own are: ``corstone check corstone_models.gallery.keyword:keyword_spotting --stimulus random``.
"""
