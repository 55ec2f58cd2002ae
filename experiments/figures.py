"""stub"""


def draw_all(folder):
    pass
