//! Cuts the core in two halves (docs/decisions/0176): what a process calls until its first search is done, the *start*, and the
//! *rest*, which is compiled when a function of it is called first. Both are made of pieces of the whole when they are loaded,
//! by a recipe; who does not know the recipe loads the whole.

mod cut;
mod order;
mod outline;

use std::collections::BTreeSet;

use order::Order;
pub use order::names_of;
pub use outline::Outline;

/// A core of which halves can be made.
pub struct Halved {
    /// The whole of it.
    pub module: Vec<u8>,
    /// The names of its functions.
    pub names: Vec<u8>,
    /// How its halves are made of it.
    pub recipe: Vec<u8>,
    /// Bytes of the start and of the rest.
    pub lengths: (usize, usize),
}

/// Halves of `module`, of which `called` are the functions that a start calls; `names` is a module of their names.
pub fn halved(module: &[u8], names: &[u8], called: &BTreeSet<u32>) -> Result<Halved, String> {
    let order = Order::of(&Outline::read(module)?, called, names)?;
    let module = cut::signed(&order.applied(module)?);
    let halves = cut::Halves::of(&module, &order)?;
    let [start, rest] = halves.modules(&module)?;
    Ok(Halved {
        names: order.applied_to_names(names)?,
        recipe: halves.recipe(&module)?,
        lengths: (start.len(), rest.len()),
        module,
    })
}

#[cfg(test)]
mod tests;
