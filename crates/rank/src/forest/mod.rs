//! Sums of decision trees, made of what LightGBM and XGBoost dump as JSON, flattened for speed.
//!
//! [`lightgbm`] and [`xgboost`] read the dumps; [`Forest::predict`] adds each tree to all rows of a block before the next,
//! small ones without a walk ([`quick`]); [`Forest::bounds`] tells between which sums the trees can yield, when inputs are
//! only known to lie between two numbers.
mod grown;
mod lightgbm;
mod model;
mod quick;
mod trees;
mod xgboost;

use brooklet_task::Rejection;

pub(crate) use model::{Forest, Model};

impl Model {
    /// Reads what `LGBMModel.dump_model()` yields.
    pub(crate) fn lightgbm(text: &[u8]) -> Result<Model, Rejection> {
        lightgbm::read(text)
    }

    /// Reads what `Booster.get_dump(dump_format="json")` or `dump_model` yields.
    pub(crate) fn xgboost(text: &[u8]) -> Result<Model, Rejection> {
        xgboost::read(text)
    }
}
