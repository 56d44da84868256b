//! The values that CEL itself does not have, and those that are read as they are touched.

pub(crate) mod ip;
pub(crate) mod quantity;
pub(crate) mod semver;
pub(crate) mod time;
pub(crate) mod world;

/// A value of a type of its own: what CEL needs of it, beside what the macro's user adds.
macro_rules! value {
    ($own:ty, $ty:ident, $name:literal $(, $accessor:ident: $capability:ident)* $(; $comparer:ident)?) => {
        pub(crate) static $ty: ::cel::common::types::Type = ::cel::common::types::Type::new_unspecified_type($name);

        impl ::cel::common::value::Val for $own {
            fn get_type(&self) -> &::cel::common::types::Type {
                &$ty
            }

            fn cel_type() -> &'static ::cel::common::types::Type {
                &$ty
            }

            $(fn $accessor<'b, 'v>(&'b self) -> Option<&'b (dyn ::cel::common::traits::$capability + 'v)>
            where
                Self: 'v,
            {
                Some(self)
            })*

            $(fn as_comparer(&self) -> Option<&dyn ::cel::common::traits::$comparer> {
                Some(self)
            })?

            fn equals(&self, other: &dyn ::cel::common::value::Val) -> bool {
                other.downcast_ref::<$own>().is_some_and(|other| self == other)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn ::cel::common::value::Val + 'v>
            where
                Self: 'v,
            {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn ::std::any::Any> {
                Some(self)
            }
        }

        impl ::cel::common::value::StaticVal for $own {}
    };
}

pub(crate) use value;
