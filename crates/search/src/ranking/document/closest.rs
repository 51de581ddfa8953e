//! `closest(field[,label])`: which of a document's vectors is the nearest to the query's.
//!
//! A tensor of the field's mapped dimensions, with a cell of 1 at the address of the nearest subspace by the field's
//! distance, over the query's nearestNeighbor items on the field (or with the label); of equals the first. Empty if the
//! document has no vector, or the query no such item.
use std::sync::Arc;

use brooklet_document::{DataType, Tensor, TensorType};
use brooklet_rank::{FeatureName, FeatureType};
use brooklet_schema::Schema;
use brooklet_segment::Halt;
use brooklet_task::Rejection;

use super::super::values::mapped_rows;
use super::feature::{Document, DocumentFeature, attribute_type, refuse, takes};
use crate::plan::SchemaPlan;

pub(super) struct Closest {
    items: Vec<usize>,
    of: Arc<TensorType>,
}

fn type_of(field: &TensorType) -> Arc<TensorType> {
    Arc::new(TensorType::new(field.cell, field.mapped().cloned().collect()))
}

pub(super) fn feature_type(feature: &FeatureName, schema: &Schema) -> Result<FeatureType, Rejection> {
    takes(feature, 1, 2)?;
    match attribute_type(feature, &feature.parameters[0], schema)? {
        DataType::Tensor(of) if of.mapped().next().is_some() && of.indexed().count() == 1 => {
            Ok(FeatureType::Tensor(type_of(of)))
        }
        _ => Err(refuse(feature, "takes a tensor field with mapped dimensions and one indexed dimension")),
    }
}

pub(super) fn bind(feature: &FeatureName, plan: &SchemaPlan) -> Closest {
    let field = &feature.parameters[0];
    let label = feature.parameters.get(1);
    let numbered = plan.nearest.iter().enumerate().filter(|(_, nearest)| nearest.competes && nearest.field == *field);
    let items = numbered.filter(|(_, nearest)| label.is_none() || nearest.label.as_ref() == label);
    let items = items.map(|(index, _)| index).collect();
    let of = match plan.schema.schema.field(field).map(|field| &field.data_type) {
        Some(DataType::Tensor(of)) => type_of(of),
        _ => Arc::new(TensorType::scalar()),
    };
    Closest { items, of }
}

impl DocumentFeature for Closest {
    fn tensor(&self, document: &mut Document<'_>) -> Result<Option<Tensor>, Halt> {
        let mut best: Option<(f64, Vec<String>)> = None;
        for item in &self.items {
            let nearest = &document.plan.nearest[*item];
            let point = nearest.point.clone();
            for (address, cell, row) in
                mapped_rows(&nearest.spec, self.of.dimensions.len(), document.spot, document.reads)?
            {
                let closeness = point.scale.to_closeness(point.distance(cell, &row)?);
                if best.as_ref().is_none_or(|(so_far, _)| closeness > *so_far) {
                    best = Some((closeness, address));
                }
            }
        }
        Ok(best.map(|(_, address)| Tensor { tensor_type: self.of.clone(), addresses: vec![address], cells: vec![1.0] }))
    }
}
