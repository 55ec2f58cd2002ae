"""stub"""


def write_report(folder):
    pass
