//! Index types: a tree is never mistaken for a node, nor a feature for a class.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of position `index`; ensembles hold fewer than 2^32 of anything.
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("index fits in 32 bits"))
            }

            /// The position this id stands for.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A tree, by its position in the ensemble.
    TreeId
);
id!(
    /// A node, by its position in its tree; the root is node 0.
    NodeId
);
id!(
    /// A leaf, by its position among the leaves of its tree.
    LeafId
);
id!(
    /// An input column.
    FeatureId
);
id!(
    /// A class, by its position in the list of labels.
    ClassId
);
id!(
    /// One of the running sums that trees add to.
    GroupId
);
id!(
    /// A cell of one feature in the grid.
    CellId
);
