"""A notebook runs, and shows pictures and tables."""

from __future__ import annotations

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

CELLS = """
from thresher import ShadowSOFS, datasets, evaluate, path, train
rows = datasets.make_x1(1_000, n_features=200, n_informative=20, n_noise=40)
model = ShadowSOFS(10)
history = train(model, rows)
---
history
---
evaluate(model, rows)
---
path(ShadowSOFS(), rows, n_features=[5, 10])
---
model
---
history.plot();
---
model.plot_features();
---
evaluate(model, rows).plot();
"""


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
def test_a_notebook_runs(tmp_path):
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in CELLS.split("---")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [{kind for output in cell.outputs for kind in output.get("data", ())} for cell in notebook.cells]
    assert shown[0] == set()
    for kinds in shown[1:5]:
        assert {"text/html", "text/plain"} <= kinds
    for kinds in shown[5:]:
        assert "image/png" in kinds
    of_history, of_evaluation, of_curve, of_estimator = (
        cell.outputs[0]["data"]["text/html"] for cell in notebook.cells[1:5]
    )
    assert "<svg" in of_history
    assert "since the last point" in of_history
    assert "<table>" in of_evaluation
    assert "ROC curve" in of_evaluation
    assert "suggested" in of_curve
    assert "sk-estimator" in of_estimator
