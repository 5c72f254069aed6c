//! Names of quantities.

/// `group.row` of `group.row.column`.
pub(super) fn experiment_of(quantity: &str) -> &str {
    quantity.rsplit_once('.').map_or("", |(experiment, _)| experiment)
}

/// (group, row, column) of a quantity.
pub(super) fn parts(quantity: &str) -> Option<(&str, &str, &str)> {
    let mut parts = quantity.split('.');
    let all = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(all)
}
