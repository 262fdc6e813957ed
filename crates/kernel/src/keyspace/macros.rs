//! The `keyspace!` macro: a table becomes typed builders ([`Keys`](crate::keyspace::own::Keys) shows one),
//! a static per definition, `KEYS` and `TABLE`.

/// Declares the keys of a module.
///
/// ```
/// mod keys {
///     use worldkeep_kernel::keyspace::Life;
///
///     worldkeep_kernel::keyspace! {
///         module = "rooms" by "code", about = "Rooms of a party game.", prefixes = &["room:"],
///         ;
///         /// Room facts.
///         seed meta(code: Code) = "room:{code}:meta", Json, Life::Secs(43_200);
///         /// Who holds which player.
///         seed claims(code: Code) = "room:{code}:claims", Hash, Life::Inherited("meta");
///     }
/// }
/// use worldkeep_kernel::keyspace::Layout;
/// use keys::{KEYS, Keys};
///
/// let keys = Keys::new(Layout::Plain);
/// assert_eq!(keys.claims("ABCD1234").unwrap().as_str(), "room:ABCD1234:claims");
/// assert_eq!(Keys::new(Layout::Tagged).meta("ABCD1234").unwrap().as_str(), "room:{ABCD1234}:meta");
/// assert!(keys.claims("AB:CD").unwrap_err().to_string().starts_with("code holds ':'"));
/// assert_eq!(KEYS.len(), 2);
/// ```
///
/// `by` names the scope: the placeholder that gets the hash tag in the tagged layout.
///
/// A key with no placeholder has a builder that cannot fail; every other one gives `Result<Key, BadId>`.
#[macro_export]
macro_rules! keyspace {
    (
        module = $module:literal $(by $scope:literal)?,
        $($table:ident = $said:expr,)*
        ;
        $(
            $(#[doc = $doc:literal])+
            $origin:ident $name:ident($($param:ident: $kind:ident),* $(,)?)
                = $pattern:literal, $type:ident, $life:expr
                $(, $field:ident = $value:expr)* $(,)?;
        )*
    ) => {
        /// The definitions, one static each, named like the builders.
        #[allow(non_upper_case_globals, unused_imports, unreachable_pub, dead_code)]
        #[allow(clippy::wildcard_imports, clippy::needless_update)]
        pub mod def {
            use super::*;
            $(
                $(#[doc = $doc])+
                pub static $name: $crate::keyspace::KeyDef =
                    $crate::keyspace::KeyDef::new($crate::keyspace::Spec {
                        module: $module,
                        name: stringify!($name),
                        pattern: $pattern,
                        params: &[$($crate::keyspace::Param {
                            name: stringify!($param),
                            kind: $crate::keyspace::Kind::$kind,
                        }),*],
                        type_: $crate::keyspace::Type::$type,
                        life: $life,
                        origin: $crate::keyspace!(@origin $origin),
                        doc: concat!($($doc),+),
                        $($field: $value,)*
                        ..SCOPED
                    });
            )*
            const SCOPED: $crate::keyspace::Spec = $crate::keyspace::Spec {
                $(scope: Some($scope),)?
                ..$crate::keyspace::Spec::BASE
            };
        }

        /// Every definition of the module.
        #[allow(unreachable_pub, dead_code)]
        pub static KEYS: &[&$crate::keyspace::KeyDef] = &[$(&def::$name),*];

        /// The module's table.
        #[allow(unreachable_pub, dead_code, clippy::needless_update)]
        pub static TABLE: $crate::keyspace::Table = $crate::keyspace::Table {
            module: $module,
            $($table: $said,)*
            keys: KEYS,
            ..$crate::keyspace::Table::BASE
        };

        /// Builds the module's keys in one layout. Copy it freely.
        #[allow(unreachable_pub, dead_code)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Keys {
            layout: $crate::keyspace::Layout,
        }

        #[allow(unreachable_pub, dead_code)]
        impl Keys {
            /// Builders for that layout.
            pub const fn new(layout: $crate::keyspace::Layout) -> Self {
                Keys { layout }
            }

            /// The layout.
            pub const fn layout(self) -> $crate::keyspace::Layout {
                self.layout
            }

            $($crate::keyspace! { @builder $(#[doc = $doc])+ $name [$($param: $kind),*] })*
        }
    };

    (@builder $(#[doc = $doc:literal])+ $name:ident []) => {
        $(#[doc = $doc])+
        pub fn $name(self) -> $crate::keyspace::Key {
            def::$name.build(self.layout, &[]).expect("a key without placeholders cannot be refused")
        }
    };
    (@builder $(#[doc = $doc:literal])+ $name:ident [$($param:ident: $kind:ident),+]) => {
        $(#[doc = $doc])+
        #[allow(clippy::too_many_arguments)]
        pub fn $name(
            self,
            $($param: $crate::keyspace!(@type $kind)),+
        ) -> ::std::result::Result<$crate::keyspace::Key, $crate::keyspace::BadId> {
            def::$name.build(self.layout, &[$($crate::keyspace::Arg::from($param)),+])
        }
    };

    (@origin seed) => { $crate::keyspace::Origin::Seed };
    (@origin own) => { $crate::keyspace::Origin::Own };

    (@type Uuid) => { $crate::keyspace::Uuid };
    (@type U8) => { u8 };
    (@type U32) => { u32 };
    (@type I16) => { i16 };
    (@type $text:ident) => { &str };
}
