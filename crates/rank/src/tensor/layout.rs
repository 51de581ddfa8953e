//! Where the cells of a dense subspace lie, and walking two layouts side by side.
use brooklet_document::TensorType;

/// The step between neighbours along a dimension of a dense subspace; nothing if it has no such dimension.
pub(super) fn stride(tensor_type: &TensorType, name: &str) -> Option<usize> {
    let mut after = tensor_type.indexed().skip_while(|dimension| dimension.name != name);
    after.next()?;
    Some(after.map(|dimension| dimension.size.unwrap_or(1)).product())
}

/// Visits every cell of a dense layout in order, with the offsets the same place has in two others.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    sizes: Vec<usize>,
    strides: [Vec<usize>; 2],
}

impl Walk {
    /// A walk over `over`; dimensions that `first` or `second` lack keep their offset.
    pub(super) fn new(over: &TensorType, first: &TensorType, second: &TensorType) -> Walk {
        let strides = |other: &TensorType| {
            over.indexed().map(|dimension| stride(other, &dimension.name).unwrap_or(0)).collect::<Vec<usize>>()
        };
        let sizes = over.indexed().map(|dimension| dimension.size.unwrap_or(1)).collect();
        Walk { sizes, strides: [strides(first), strides(second)] }
    }

    /// Calls `visit` with both offsets for each cell.
    #[inline]
    pub(super) fn each(&self, mut visit: impl FnMut(usize, usize)) {
        let Some((last, outer)) = self.sizes.split_last() else { return visit(0, 0) };
        let steps = [self.strides[0][outer.len()], self.strides[1][outer.len()]];
        let mut coordinates = vec![0usize; outer.len()];
        let mut offsets = [0usize; 2];
        loop {
            let [mut first, mut second] = offsets;
            for _ in 0..*last {
                visit(first, second);
                first += steps[0];
                second += steps[1];
            }
            let mut dimension = outer.len();
            loop {
                let Some(next) = dimension.checked_sub(1) else { return };
                dimension = next;
                coordinates[dimension] += 1;
                offsets[0] += self.strides[0][dimension];
                offsets[1] += self.strides[1][dimension];
                if coordinates[dimension] < outer[dimension] {
                    break;
                }
                offsets[0] -= self.strides[0][dimension] * outer[dimension];
                offsets[1] -= self.strides[1][dimension] * outer[dimension];
                coordinates[dimension] = 0;
            }
        }
    }
}

/// Positions, among the mapped dimensions of `tensor_type`, of those whose name satisfies `wanted`.
pub(super) fn mapped_positions(tensor_type: &TensorType, wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    tensor_type.mapped().enumerate().filter(|(_, dimension)| wanted(&dimension.name)).map(|(at, _)| at).collect()
}

/// The labels at these positions.
pub(super) fn pick(address: &[String], positions: &[usize]) -> Vec<String> {
    positions.iter().map(|position| address[*position].clone()).collect()
}
