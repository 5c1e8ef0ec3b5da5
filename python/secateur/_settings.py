"""What of a live object counts: the settings that its library's `predict` reads, one list for each library.

A claim about an object is about what `object.predict(X)` returns, with no further arguments. The lists come from the
libraries' own `predict` functions and say of each setting that these read what is done about it:

- honoured: the model that is built here does the same;
- harmless: it cannot change what `predict` returns for a row, and the reason says why;
- refused: a `ModelError` names the setting, says why, and what to do.

`python/tests/test_settings.py` walks the installed libraries and fails where one of them reads or accepts something
that is not listed here. The same lists are the tables of docs/guide/live-objects.md.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, Callable, NamedTuple

from secateur._secateur import Model, ModelError


class Setting(NamedTuple):
    """One setting, or a few that are read together."""

    names: tuple[str, ...]
    answer: str
    """"honoured", "harmless" or "refused"."""
    reason: str


def _settings(*rows: tuple[str, str, str]) -> tuple[Setting, ...]:
    return tuple(Setting(tuple(names.split()), answer, reason) for names, answer, reason in rows)


ANY_OBJECT = _settings(
    ("subclass", "refused", "a subclass may predict as it likes; only the libraries' own classes are known"),
    ("method", "refused", "a method was replaced on the object itself (`model.predict = ...`)"),
    (
        "part",
        "refused",
        "a booster, a tree, an encoder of labels or of categories in the object is not of the library's own class, or has "
        "a method replaced",
    ),
    (
        "arguments",
        "harmless",
        "the claim is about `predict(X)` without further arguments: `iteration_range`, `base_margin`, `num_iteration`, "
        "`raw_score` and others count only for the call that they are given to",
    ),
    (
        "pickle",
        "honoured",
        "the object is read as it is now, pickled and unpickled or not; a change by `set_params` after `fit` counts",
    ),
)

LIGHTGBM = _settings(
    ("_le classes_ _classes", "honoured", "the labels that `predict` returns, with their type"),
    ("best_iteration", "honoured", "`predict` stops at the booster's best round, and so does the model"),
    ("_Booster booster_", "honoured", "its trees, as `model_to_string` writes them now"),
    ("pandas_categorical", "honoured", "the category labels, which `model_to_string` writes"),
    (
        "pred_early_stop",
        "refused",
        "rounds are left out for rows whose score is large enough already, so the sums are not those of all trees",
    ),
    ("pred_early_stop_freq pred_early_stop_margin", "harmless", "they count only with `pred_early_stop`"),
    (
        "objective _objective",
        "refused",
        "a function as the objective makes `predict` return raw scores and no labels; a name that does not go with the "
        "trees makes it fail. A name that does is honoured",
    ),
    ("n_classes _n_classes num_class", "refused", "if it is not the number of labels; `predict` then fails"),
    ("validate_features", "refused", "as a parameter of the object it makes every `predict` fail"),
    (
        "predict_disable_shape_check",
        "harmless",
        "it admits rows with too few or too many columns; the claim is about rows with the model's columns",
    ),
    (
        "num_iteration_predict start_iteration_predict predict_raw_score predict_leaf_index predict_contrib",
        "harmless",
        "for LightGBM's command line; `predict` gives the library its own arguments instead",
    ),
    (
        "X data start_iteration num_iteration num_iterations raw_score pred_leaf pred_contrib",
        "harmless",
        "`predict` takes them out of the object's parameters",
    ),
    ("data_has_header", "harmless", "for text files given to `predict`"),
    (
        "num_threads n_jobs",
        "harmless",
        "rows are shared among threads; each row's trees are added in the order of the file",
    ),
    ("device_type", "harmless", "LightGBM predicts on the CPU whatever it trained on"),
    (
        "_other_params params get_params kwargs",
        "honoured",
        "every parameter in them, under all its aliases; a booster's own `params` are not read by `predict`",
    ),
    ("class_weight sample_weight importance_type", "harmless", "of fitting; the trees have it in them"),
    ("_eval_at", "harmless", "a ranker's"),
    (
        "_n_features _n_features_in n_features_ n_features_in_ feature_name_",
        "harmless",
        "they decide which tables are accepted",
    ),
)

# Everything else that LightGBM's configuration knows is about training, data files, other tasks or logging: what
# training made of it is in the trees.
LIGHTGBM_TRAINING = frozenset(
    """
    alpha auc_mu_weights bagging_by_query bagging_fraction bagging_freq bagging_seed bin_construct_sample_cnt
    boost_from_average boosting cat_l2 cat_smooth categorical_feature cegb_penalty_feature_coupled
    cegb_penalty_feature_lazy cegb_penalty_split cegb_tradeoff config convert_model convert_model_language
    data_random_seed data_sample_strategy deterministic drop_rate drop_seed early_stopping_min_delta
    early_stopping_round enable_bundle eval_at extra_seed extra_trees fair_c feature_contri feature_fraction
    feature_fraction_bynode feature_fraction_seed feature_pre_filter first_metric_only force_col_wise force_row_wise
    forcedbins_filename forcedsplits_filename gpu_device_id gpu_device_id_list gpu_platform_id gpu_use_dp group_column
    header histogram_pool_size ignore_column input_model interaction_constraints is_enable_sparse
    is_provide_training_metric is_unbalance label_column label_gain lambda_l1 lambda_l2 lambdarank_norm
    lambdarank_position_bias_regularization lambdarank_truncation_level learning_rate linear_lambda linear_tree
    local_listen_port machine_list_filename machines max_bin max_bin_by_feature max_cat_threshold max_cat_to_onehot
    max_delta_step max_depth max_drop metric metric_freq min_data_in_bin min_data_in_leaf min_data_per_group
    min_gain_to_split min_sum_hessian_in_leaf monotone_constraints monotone_constraints_method monotone_penalty
    multi_error_top_k neg_bagging_fraction num_gpu num_grad_quant_bins num_leaves num_machines objective_seed other_rate
    output_model output_result parser_config_file path_smooth poisson_max_delta_step pos_bagging_fraction pre_partition
    precise_float_parser quant_train_renew_leaf refit_decay_rate reg_sqrt save_binary saved_feature_importance_type
    scale_pos_weight seed sigmoid skip_drop snapshot_freq stochastic_rounding task time_out top_k top_rate tree_learner
    tweedie_variance_power two_round uniform_drop use_missing use_quantized_grad valid verbosity weight_column
    xgboost_dart_mode zero_as_missing
    """.split()
)

XGBOOST = _settings(
    (
        "classes_ n_classes_",
        "honoured",
        "the labels 0, 1, ...; refused if they are not as many as the trees decide among",
    ),
    ("_Booster get_booster", "honoured", "its trees, base score and objective, as `save_raw` writes them now"),
    (
        "best_iteration",
        "honoured",
        "`XGBClassifier.predict` stops there, and so does the model; a `Booster` on its own uses all its trees",
    ),
    (
        "missing",
        "refused",
        "if it is not NaN: a number that counts as missing cannot be told from the number in the trees' splits",
    ),
    (
        "objective",
        "honoured",
        "that of the booster decides, also with a function as the objective; refused where the object says "
        "`multi:softmax` and its booster does not, or the other way round",
    ),
    ("base_score", "honoured", "`set_params` hands it to the booster, whose file has it"),
    ("booster", "refused", "if it is not the kind of the fitted booster, which a change after `fit` may make it"),
    (
        "device",
        "refused",
        "if the booster predicts on a GPU, which adds the trees in another order; on the CPU it is harmless",
    ),
    (
        "rate_drop skip_drop one_drop sample_type normalize_type",
        "harmless",
        "dart drops trees while it trains, not in `predict`",
    ),
    ("kwargs get_params", "harmless", "`fit` and `set_params` hand them to the booster, whose file has what counts"),
    ("n_jobs", "harmless", "rows are shared among threads; each row's trees are added in the order of the file"),
    (
        "feature_types enable_categorical validate_features feature_names",
        "harmless",
        "they decide which tables are accepted",
    ),
    (
        "_can_use_inplace_predict _get_iteration_range",
        "honoured",
        "the way to the trees; both ways give the same scores",
    ),
    ("verbosity", "harmless", "logging"),
    ("n_estimators num_parallel_tree", "honoured", "the trees that are there count, whatever these say after `fit`"),
)

# Parameters of the constructor that only `fit` reads.
XGBOOST_TRAINING = frozenset(
    """
    max_depth max_leaves max_bin grow_policy learning_rate tree_method gamma min_child_weight max_delta_step subsample
    sampling_method colsample_bytree colsample_bylevel colsample_bynode reg_alpha reg_lambda scale_pos_weight
    random_state monotone_constraints interaction_constraints importance_type validate_parameters feature_weights
    max_cat_to_onehot max_cat_threshold multi_strategy eval_metric early_stopping_rounds callbacks
    """.split()
)

CATBOOST = _settings(
    (
        "_object",
        "honoured",
        "its trees, scale, bias, threshold and class labels, as `save_model` writes them now; `set_scale_and_bias` and "
        "`set_probability_threshold` change it",
    ),
    ("classes_", "honoured", "the labels that `predict` returns, with their type, as the model itself holds them"),
    (
        "tree_count_ is_fitted _random_seed",
        "harmless",
        "they tell whether there is a model; with `use_best_model`, `fit` itself drops the trees after the best round",
    ),
    (
        "_get_cat_feature_indices _get_text_feature_indices _get_embedding_feature_indices",
        "harmless",
        "how a table is read; models that look at text or embeddings are refused",
    ),
    (
        "get_param _init_params _get_canonized_params _canonized_params",
        "harmless",
        "of fitting: `predict` looks up `verbose` there, and a `CatBoostRegressor` its loss",
    ),
    (
        "_get_default_prediction_type",
        "refused",
        "if a `CatBoostRegressor` makes of the scores what another loss than that of its trees would; with Poisson, Tweedie and RMSEWithUncertainty its "
        "predictions end in `exp`, and the claim is about raw scores, which `CatBoost` and `CatBoostRanker` return anyway",
    ),
    ("verbose", "harmless", "logging"),
    (
        "_predict _base_predict _process_predict_input_data _validate_prediction_type",
        "honoured",
        "the way to the trees",
    ),
    (
        "prediction_type",
        "honoured",
        "a `CatBoost` returns raw scores by default; the claim is about `predict(X, prediction_type=\"Class\")`, which a "
        "`CatBoostClassifier` returns anyway",
    ),
    (
        "data ntree_start ntree_end thread_count task_type",
        "harmless",
        "arguments of one call; rows are shared among threads, and each row's trees are added in the order of the file",
    ),
)

SKLEARN = _settings(
    ("classes_ n_classes_", "honoured", "the labels that `predict` returns, with their type"),
    ("n_outputs_", "honoured", "a regressor has a score for each output; a classifier with several is refused"),
    (
        "tree_ estimators_ _predictors",
        "honoured",
        "the trees that are there; refused where one is not the library's own tree, or has a method replaced",
    ),
    ("estimator_weights_", "honoured", "AdaBoost's weights"),
    ("algorithm", "refused", "AdaBoost with `SAMME.R`, which versions of scikit-learn predict differently"),
    ("learning_rate", "honoured", "GradientBoosting multiplies by it in `predict`, so a change after `fit` counts"),
    (
        "init_ _loss _check_initialized n_trees_per_iteration_ _raw_predict_init",
        "honoured",
        "the start of GradientBoosting is what the object itself computes; refused for an `init` estimator of"
        " one's own",
    ),
    (
        "_baseline_prediction _bin_mapper",
        "honoured",
        "the start of HistGradientBoosting, and the categories that it knows",
    ),
    (
        "_preprocessor _preprocess_X",
        "honoured",
        "HistGradientBoosting's order of columns and codes of categories; refused where it is not the "
        "library's own",
    ),
    (
        "_in_fit",
        "refused",
        "if `fit` of HistGradientBoosting was interrupted, `predict` takes its rows for bin numbers",
    ),
    ("splitter criterion _support_missing_values", "honoured", "they decide whether missing values are accepted"),
    ("monotonic_cst class_weight warm_start", "harmless", "of fitting; the trees have it in them"),
    (
        "n_jobs n_estimators",
        "harmless",
        "a forest's threads add its trees in any order, and claims about forests hold for every order; the "
        "trees that are there count",
    ),
    ("verbose", "harmless", "logging"),
    ("n_features_in_ feature_names_in_", "harmless", "they decide which tables are accepted"),
    ("_validate_X_predict _check_X", "harmless", "the library's own check of a table"),
    ("predict_proba decision_function _raw_predict _predict_iterations", "honoured", "the way to the trees"),
    (
        "set_config",
        "harmless",
        "`transform_output` and metadata routing do not reach a classifier's `predict`; with `assume_finite` "
        "the claim is still about the rows that the library accepts without it",
    ),
)

PIPELINES = _settings(
    ("steps", "honoured", "the last step decides; two pipelines are compared only if the steps before are the same"),
    ("memory transform_input verbose", "harmless", "they are about `fit`"),
    ("estimator_", "honoured", "a `PrunedClassifier` is its pruned classifier"),
)


def replaced_methods(model: Any) -> list[str]:
    """Methods that were replaced on the object itself."""
    return [name for name in getattr(model, "__dict__", {}) if callable(getattr(type(model), name, None))]


def check_methods(model: Any) -> None:
    """Refuses a model that has methods of its own."""
    replaced = replaced_methods(model)
    if replaced:
        raise ModelError(
            f"this {type(model).__qualname__} has a {replaced[0]} of its own in place of its class's, which may do anything; "
            f"delete it first (del model.{replaced[0]})"
        )


def check_own(part: Any, library: str, name: str, owner: Any) -> None:
    """Refuses a part of a model that is not its library's own class, or has methods of its own."""
    kind = type(part)
    if kind.__module__.partition(".")[0] != library or kind.__qualname__ != name:
        raise ModelError(
            f"this {type(owner).__qualname__} holds a {kind.__module__}.{kind.__qualname__} where the library puts its own {name}, "
            "and it may do anything; fit the model again"
        )
    check_methods(part)


def check_catboost_regressor(model: Any, path: str) -> None:
    """Does `predict` return the scores, or what a regressor of this file, which has the same trees, makes of them?"""
    own = model._get_default_prediction_type()
    if own == "RawFormulaVal":
        return
    fresh = type(model)()
    fresh.load_model(path)
    expected = fresh._get_default_prediction_type()
    if own != expected:
        raise ModelError(
            f"the parameters of this CatBoostRegressor are not those of its trees: its predict returns {own}, and that of its "
            f"file {expected}; save it and load it again"
        )


def check_lightgbm(model: Any) -> None:
    """Settings of an LGBMClassifier that its trees do not have."""
    objective = getattr(model, "_objective", None)
    if callable(objective):
        raise ModelError(
            "the objective of this LGBMClassifier is a function: its predict returns raw scores and no labels; fit it "
            "with an objective of LightGBM's, or write one into the file of its booster_ (objective=binary sigmoid:1) and "
            "give that"
        )
    own = _lightgbm_aliases()
    listed = {name for setting in LIGHTGBM for name in setting.names} | LIGHTGBM_TRAINING
    main_names = {alias: main for main, aliases in own.items() for alias in aliases}
    for name, value in model.get_params().items():
        main = main_names.get(name, name)
        if main == "pred_early_stop" and not _is_off(value):
            raise ModelError(
                f"{name}={value!r} is not supported: predict leaves rounds out for rows whose score is large enough "
                f"already, so that it does not decide by the sum of all trees; set_params({name}=False) on a copy"
            )
        if name == "validate_features":
            raise ModelError(
                "validate_features is a parameter of this LGBMClassifier, and so every predict fails; it belongs "
                "into the call of predict"
            )
        if main in own and main not in listed:
            raise ModelError(
                f"the parameter {name} of this version of LightGBM is not known here, nor whether predict reads it; "
                f"fit without it"
            )


def check_lightgbm_classes(model: Any, read: Model) -> None:
    """Is the way from the trees' scores to labels that of the trees?"""
    if not hasattr(model, "_le"):
        raise ModelError("this LGBMClassifier has no labels (_le), and its predict fails: fit it, or give its booster_")
    check_own(model._le, "sklearn", "LabelEncoder", model)
    # As LGBMClassifier's predict decides what the scores are.
    objective = getattr(model, "_objective", None)
    several = model._n_classes > 2 or objective in _LIGHTGBM_MULTICLASS
    if several != (len(read.intercepts) > 1):
        raise ModelError(
            f"the objective {objective!r} of this LGBMClassifier does not go with its trees, and its predict fails; "
            "set_params(objective=...) to the one that it was fitted with"
        )


_LIGHTGBM_MULTICLASS = ("multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr")


def _lightgbm_aliases() -> dict[str, list[str]]:
    """LightGBM's own list: each parameter and all its names."""
    aliases = sys.modules["lightgbm"].basic._ConfigAliases
    aliases.get("objective")  # which fills the list
    return aliases.aliases


def _is_off(value: Any) -> bool:
    """As LightGBM reads a flag. `None` is left out of what it is given."""
    return value is None or str(value).lower() in ("false", "-")


def check_xgboost(model: Any, booster: Any) -> None:
    """Settings of an XGBClassifier that its booster does not have, or not as predict reads them."""
    missing = model.missing
    if missing is None:
        raise ModelError("missing=None makes every predict fail; set_params(missing=float('nan'))")
    if not math.isnan(missing):
        raise ModelError(
            f"missing={missing!r} is not supported: predict takes that value for a missing one, and the trees' splits "
            "cannot tell it from the number. Replace it by NaN in the data and set_params(missing=float('nan')) on a "
            "copy: it then decides the same"
        )
    config = _configuration(booster)
    kind = config["gradient_booster"]["name"]
    if (model.booster or "gbtree") != kind:
        raise ModelError(
            f"booster={model.booster!r} is not what was fitted ({kind}), and predict goes by it; "
            f"set_params(booster={kind!r})"
        )
    objective, fitted = model.objective, config["objective"]["name"]
    if (objective == "multi:softmax") != (fitted == "multi:softmax"):
        raise ModelError(
            f"objective={objective!r} is not that of the booster ({fitted}), and predict reads the booster's output "
            f"by it; set_params(objective={fitted!r})"
        )


def xgboost_classes(model: Any, read: Model) -> int:
    """How many classes an XGBClassifier returns."""
    several = len(read.intercepts) > 1
    # A booster that was put into the object by hand; for one score predict does not ask.
    count = getattr(model, "n_classes_", None if several else 2)
    if count is None:
        raise ModelError("this XGBClassifier has no n_classes_, and its predict fails; load_model sets it")
    if several and count == 2 == len(read.classes) and model.objective != "multi:softmax":
        raise ModelError(
            f"the objective {model.objective!r} with two classes makes predict return a table of flags, one for each "
            "class; fit with binary:logistic"
        )
    return count


def check_xgboost_device(booster: Any) -> None:
    """On a GPU the trees are added in another order."""
    device = _configuration(booster)["generic_param"]["device"]
    if device != "cpu":
        raise ModelError(
            f"device={device!r} is not supported: on a GPU XGBoost adds the trees in another order, which rounds "
            "otherwise; set_params(device='cpu'), or set_param({'device': 'cpu'}) of a Booster, on a copy"
        )


def _configuration(booster: Any) -> dict[str, Any]:
    return json.loads(booster.save_config())["learner"]


def check_sklearn(estimator: Any, name: str, trees: list[Any], tree_types: set[tuple[str, str]]) -> None:
    """Trees that are not the library's own, and flags that change what predict does."""
    for tree in trees:
        kind = type(tree)
        if (kind.__module__, kind.__qualname__) not in tree_types:
            raise ModelError(f"{name} of {kind.__qualname__} is not supported, of the library's own trees it is")
        check_methods(tree)
        if hasattr(tree, "tree_"):
            check_own(tree.tree_, "sklearn", "Tree", tree)
    if getattr(estimator, "_in_fit", False):
        raise ModelError(f"the fit of this {name} was interrupted (_in_fit), and its predict misreads rows; fit it again")
    if getattr(estimator, "algorithm", None) == "SAMME.R":
        raise ModelError(
            'AdaBoost with algorithm="SAMME.R" is not supported; newer versions of scikit-learn predict otherwise: fit it '
            "again with SAMME"
        )


def from_library(what: str, write: Callable[[], bytes]) -> bytes:
    """A file as the library writes it; where it cannot, nor can it predict."""
    try:
        return write()
    except Exception as error:
        raise ModelError(f"{what} cannot write this model: {error}") from error
