//! Settings that are one of a few named values.

/// A value that users choose by its name.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    /// All of them, the default first. Snapshots hold positions in this list:
    /// new ones go to its end.
    const ALL: &'static [(&'static str, Self)];

    fn position(self) -> u8 {
        let mut all = (0..).zip(Self::ALL);
        all.find(|(_, (_, choice))| *choice == self)
            .map_or(u8::MAX, |(position, _)| position)
    }

    fn name(self) -> &'static str {
        Self::ALL
            .get(usize::from(self.position()))
            .map_or("", |(name, _)| name)
    }
}
