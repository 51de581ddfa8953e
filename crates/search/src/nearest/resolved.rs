//! The documents a nearest-neighbour operator matched.
use brooklet_kernel::Bitmap;

/// A matched operator of a query, resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// Its documents of each view: ordinals ascending, with internal distances.
    pub(crate) views: Vec<Vec<(u32, f64)>>,
    /// By view and ordinal: between which internal distances a document is, as the scan saw it. Empty if nobody asked.
    bounds: Vec<Vec<(f64, f64)>>,
}

impl Resolved {
    pub(crate) fn new((measured, bounds): (Vec<Measured>, Vec<Vec<(f64, f64)>>), views: usize) -> Resolved {
        let mut resolved = Resolved { views: vec![Vec::new(); views], bounds };
        for document in measured {
            resolved.views[document.view as usize].push((document.ordinal, document.distance));
        }
        resolved
    }

    pub(crate) fn distance(&self, view: usize, ordinal: u32) -> Option<f64> {
        let of_view = self.views.get(view)?;
        of_view.binary_search_by_key(&ordinal, |(ordinal, _)| *ordinal).ok().map(|at| of_view[at].1)
    }

    /// Bounds of the internal distance of a document; nothing if the scan kept none.
    pub(crate) fn bounds(&self, view: usize, ordinal: u32) -> Option<(f64, f64)> {
        let bounds = *self.bounds.get(view)?.get(ordinal as usize)?;
        (bounds.0 <= bounds.1).then_some(bounds)
    }

    /// Its documents of a view; none as long as it is not resolved.
    pub(crate) fn documents(&self, view: usize, length: usize) -> Bitmap {
        let mut documents = Bitmap::none(length);
        self.views.get(view).into_iter().flatten().for_each(|(ordinal, _)| documents.set(*ordinal as usize));
        documents
    }
}

/// A document whose distance is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) view: u32,
    pub(crate) ordinal: u32,
    pub(crate) distance: f64,
}
