//! The reach of a token: everywhere, or in the tenants and job namespaces that it names and nowhere else. A token that
//! names only one of the two kinds holds nothing of the other, so that no limit is half a limit.

/// The reach of a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TokenScopes {
    /// All tenants, all namespaces, and what belongs to neither.
    #[default]
    Everywhere,
    /// These alone, and nothing that belongs to no tenant or namespace.
    Only {
        /// Tenants.
        tenants: Vec<String>,
        /// Job namespaces.
        namespaces: Vec<String>,
    },
}

impl TokenScopes {
    /// From the two lists of a token, each absent or not.
    pub fn of(tenants: Option<&[String]>, namespaces: Option<&[String]>) -> Self {
        if tenants.is_none() && namespaces.is_none() {
            return TokenScopes::Everywhere;
        }
        let list = |names: Option<&[String]>| names.unwrap_or_default().to_vec();
        TokenScopes::Only { tenants: list(tenants), namespaces: list(namespaces) }
    }

    /// Whether it ends somewhere.
    pub fn is_limited(&self) -> bool {
        *self != TokenScopes::Everywhere
    }

    /// Whether this tenant is within it.
    pub fn has_tenant(&self, tenant: &str) -> bool {
        self.tenants().is_none_or(|held| held.iter().any(|name| name == tenant))
    }

    /// Whether this job namespace is within it.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces().is_none_or(|held| held.iter().any(|name| name == namespace))
    }

    /// The tenants; all when `None`.
    pub fn tenants(&self) -> Option<&[String]> {
        match self {
            TokenScopes::Everywhere => None,
            TokenScopes::Only { tenants, .. } => Some(tenants),
        }
    }

    /// The job namespaces; all when `None`.
    pub fn namespaces(&self) -> Option<&[String]> {
        match self {
            TokenScopes::Everywhere => None,
            TokenScopes::Only { namespaces, .. } => Some(namespaces),
        }
    }

    /// The list of `other` that goes beyond this, if one does.
    pub fn exceeded_by(&self, other: &TokenScopes) -> Option<&'static str> {
        match (self, other) {
            (TokenScopes::Everywhere, _) => None,
            (TokenScopes::Only { .. }, TokenScopes::Everywhere) => Some("tenants"),
            (TokenScopes::Only { .. }, TokenScopes::Only { tenants, namespaces }) => {
                if !tenants.iter().all(|tenant| self.has_tenant(tenant)) {
                    return Some("tenants");
                }
                let held = namespaces.iter().all(|namespace| self.has_namespace(namespace));
                (!held).then_some("namespaces")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(tenants: Option<&[&str]>, namespaces: Option<&[&str]>) -> TokenScopes {
        let list = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        TokenScopes::of(tenants.map(list).as_deref(), namespaces.map(list).as_deref())
    }

    #[test]
    fn a_limit_of_one_kind_holds_nothing_of_the_other() {
        let tenant = scopes(Some(&["a"]), None);
        assert!(tenant.has_tenant("a") && !tenant.has_tenant("b"));
        assert!(!tenant.has_namespace("bridge"));
        let namespace = scopes(None, Some(&["bridge"]));
        assert!(namespace.has_namespace("bridge") && !namespace.has_tenant("a"));
        let all = scopes(None, None);
        assert!(all.has_tenant("a") && all.has_namespace("bridge") && !all.is_limited());
    }

    #[test]
    fn nothing_within_a_limit_goes_beyond_it() {
        let own = scopes(Some(&["a", "b"]), Some(&["bridge"]));
        for within in [
            scopes(Some(&["a"]), None),
            scopes(None, Some(&["bridge"])),
            scopes(Some(&["b", "a"]), Some(&["bridge"])),
        ] {
            assert_eq!(own.exceeded_by(&within), None, "{within:?}");
        }
        for (beyond, field) in [
            (scopes(None, None), "tenants"),
            (scopes(Some(&["a", "c"]), None), "tenants"),
            (scopes(None, Some(&["other"])), "namespaces"),
        ] {
            assert_eq!(own.exceeded_by(&beyond), Some(field), "{beyond:?}");
            assert_eq!(TokenScopes::Everywhere.exceeded_by(&beyond), None);
        }
    }
}
