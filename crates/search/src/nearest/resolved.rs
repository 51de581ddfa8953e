//! The documents a nearest-neighbour operator matched.
use brooklet_kernel::Bitmap;

use super::Measured;

/// A matched operator of a query, resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// Its documents of each view: ordinals ascending, with internal distances.
    pub(crate) views: Vec<Vec<(u32, f64)>>,
}

impl Resolved {
    pub(crate) fn of(measured: Vec<Measured>, views: usize) -> Resolved {
        let mut resolved = Resolved { views: vec![Vec::new(); views] };
        for document in measured {
            resolved.views[document.view as usize].push((document.ordinal, document.distance));
        }
        resolved
    }

    pub(crate) fn distance(&self, view: usize, ordinal: u32) -> Option<f64> {
        let of_view = self.views.get(view)?;
        of_view.binary_search_by_key(&ordinal, |(ordinal, _)| *ordinal).ok().map(|at| of_view[at].1)
    }

    pub(crate) fn documents(&self, view: usize, length: usize) -> Bitmap {
        let mut documents = Bitmap::none(length);
        self.views[view].iter().for_each(|(ordinal, _)| documents.set(*ordinal as usize));
        documents
    }
}
