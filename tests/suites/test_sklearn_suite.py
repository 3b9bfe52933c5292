"""scikit-learn's own checks of estimators."""

import pytest

pytest.importorskip("sklearn", minversion="1.6")

from conftest import needs_fp64
from sklearn.utils.estimator_checks import parametrize_with_checks

from clfrnn.interop.sklearn import DBSCAN, KNeighborsTransformer, NearestNeighbors, RadiusNeighborsTransformer

pytestmark = [pytest.mark.long, needs_fp64]


@parametrize_with_checks(
    [NearestNeighbors(), RadiusNeighborsTransformer(), KNeighborsTransformer(), DBSCAN()],
    expected_failed_checks=lambda estimator: (
        {"check_sample_weight_equivalence_on_dense_data": "points of 30 features, of which 12 are served"}
        if isinstance(estimator, DBSCAN)
        else {}
    ),
)
def test_estimators(estimator, check):
    check(estimator)
