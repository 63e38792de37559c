"""What a plan that several sources have run says of them: how far apart they are, which findings survive.

The first source is the reference. A repeat is the run with another seed: the two differ by chance alone.
"""
