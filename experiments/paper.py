"""The paper's own figures: what ours are put beside."""

from __future__ import annotations

TABLE_2 = {  # X2: seconds, accuracy %, sparsity %
    "OGD": (266.76, 99.30, 83.52),
    "AROW": (396.38, 99.50, 67.91),
    "SOFS": (480.95, 99.69, 99.995),
}

X2_NOISE = 500  # columns of noise in a row of X2

NEWS_NONZEROS = 5_513_533  # of the training rows, in Table 3
RHO = (0.005, 0.05, 0.1, 0.2)
TABLE_4: dict[str, dict[str, tuple[tuple[float, float], ...]]] = {  # accuracy % and seconds, for each ρ
    "news": {
        "PET": ((75.31, 52.95), (71.71, 46.76), (70.93, 54.27), (76.55, 61.76)),
        "SOFS": ((78.48, 1.73), (79.3, 2.12), (79.36, 1.65), (79.52, 1.45)),
        "FGM": ((79.3, 75.40), (79.71, 751.01), (79.72, 2540.64), (79.63, 7587.04)),
    },
    "rcv1": {
        "PET": ((80.14, 140.15), (92.35, 79.90), (93.71, 82.43), (94.24, 99.95)),
        "SOFS": ((87.59, 14.71), (93.65, 16.40), (94.23, 15.62), (94.61, 15.6)),
        "FGM": ((94.58, 501.4), (94.71, 950.1), (94.76, 1339.0), (94.81, 2039.1)),
    },
    "url": {
        "PET": ((98.16, 3816.8), (98.24, 4750.4), (98.29, 4957.3), (98.29, 4878.7)),
        "SOFS": ((98.40, 66.7), (98.62, 68.6), (98.66, 68.9), (98.71, 67.1)),
    },
}
NO_FGM_ON_URL = "the paper has none: 'too slow to run (took days to select 20 % features)'"

TABLE_5 = {  # rows to learn, rows to test, columns
    "relathe": (1_000, 427, 4_322),
    "pcmac": (1_000, 946, 7_510),
    "basehock": (1_500, 493, 4_862),
    "ccat": (13_149, 10_000, 47_236),
    "aut": (40_000, 22_581, 20_072),
    "real-sim": (50_000, 22_309, 20_958),
}

BUDGETS = (100, 200, 300, 400, 500)
TABLE_6 = {  # accuracy %, for each B
    "relathe": {"mRMR": (74.19, 77.87, 78.92, 79.13, 79.60), "SOFS": (71.38, 78.81, 81.34, 82.39, 82.91)},
    "pcmac": {"mRMR": (87.95, 90.34, 89.93, 91.49, 91.10), "SOFS": (89.76, 92.65, 93.28, 93.75, 94.02)},
    "basehock": {"mRMR": (93.78, 95.15, 95.03, 95.25, 94.89), "SOFS": (90.34, 94.52, 95.86, 96.41, 96.68)},
    "ccat": {"mRMR": (82.75, 85.71, 86.42, 86.94, 87.40), "SOFS": (82.76, 86.35, 87.94, 89.00, 89.75)},
    "aut": {"mRMR": (92.41, 93.87, 94.09, 94.59, 94.55), "SOFS": (74.72, 81.71, 85.89, 97.67, 99.75)},
    "real-sim": {"mRMR": (85.44, 88.51, 89.71, 90.84, 94.55), "SOFS": (83.29, 86.77, 89.38, 90.71, 91.59)},
}

TABLE_7: dict[str, dict[str, float]] = {  # seconds to select 500 features
    "SOFS": {"relathe": 0.03, "pcmac": 0.03, "basehock": 0.04, "ccat": 0.48, "aut": 0.78, "real-sim": 1.24},
    "mRMR": {"relathe": 1733, "pcmac": 1429, "basehock": 1584, "ccat": 2205, "aut": 1486, "real-sim": 1403},
}

MEDIUM = tuple(TABLE_6)
