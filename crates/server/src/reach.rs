//! Where a token is good: everywhere, or in the tenants and job namespaces that it names and nowhere else. A token that
//! names only one of the two kinds holds nothing of the other, so that no limit is half a limit.

/// Where a token is good.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reach {
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

impl Reach {
    /// From the two lists of a token, each absent or not.
    pub fn of(tenants: Option<&[String]>, namespaces: Option<&[String]>) -> Self {
        if tenants.is_none() && namespaces.is_none() {
            return Reach::Everywhere;
        }
        let list = |names: Option<&[String]>| names.unwrap_or_default().to_vec();
        Reach::Only { tenants: list(tenants), namespaces: list(namespaces) }
    }

    /// Whether it ends somewhere.
    pub fn is_limited(&self) -> bool {
        *self != Reach::Everywhere
    }

    /// Whether this tenant is within it.
    pub fn has_tenant(&self, tenant: &str) -> bool {
        self.tenants().is_none_or(|held| held.iter().any(|name| name == tenant))
    }

    /// Whether this job namespace is within it.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces().is_none_or(|held| held.iter().any(|name| name == namespace))
    }

    /// Its tenants; all when `None`.
    pub fn tenants(&self) -> Option<&[String]> {
        match self {
            Reach::Everywhere => None,
            Reach::Only { tenants, .. } => Some(tenants),
        }
    }

    /// Its job namespaces; all when `None`.
    pub fn namespaces(&self) -> Option<&[String]> {
        match self {
            Reach::Everywhere => None,
            Reach::Only { namespaces, .. } => Some(namespaces),
        }
    }

    /// The list of `other` that goes beyond this, if one does.
    pub fn exceeded_by(&self, other: &Reach) -> Option<&'static str> {
        match (self, other) {
            (Reach::Everywhere, _) => None,
            (Reach::Only { .. }, Reach::Everywhere) => Some("tenants"),
            (Reach::Only { .. }, Reach::Only { tenants, namespaces }) => {
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

    fn reach(tenants: Option<&[&str]>, namespaces: Option<&[&str]>) -> Reach {
        let list = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        Reach::of(tenants.map(list).as_deref(), namespaces.map(list).as_deref())
    }

    #[test]
    fn a_limit_of_one_kind_holds_nothing_of_the_other() {
        let tenant = reach(Some(&["a"]), None);
        assert!(tenant.has_tenant("a") && !tenant.has_tenant("b"));
        assert!(!tenant.has_namespace("bridge"));
        let namespace = reach(None, Some(&["bridge"]));
        assert!(namespace.has_namespace("bridge") && !namespace.has_tenant("a"));
        let all = reach(None, None);
        assert!(all.has_tenant("a") && all.has_namespace("bridge") && !all.is_limited());
    }

    #[test]
    fn nothing_within_a_limit_goes_beyond_it() {
        let own = reach(Some(&["a", "b"]), Some(&["bridge"]));
        for within in [
            reach(Some(&["a"]), None),
            reach(None, Some(&["bridge"])),
            reach(Some(&["b", "a"]), Some(&["bridge"])),
        ] {
            assert_eq!(own.exceeded_by(&within), None, "{within:?}");
        }
        for (beyond, field) in [
            (reach(None, None), "tenants"),
            (reach(Some(&["a", "c"]), None), "tenants"),
            (reach(None, Some(&["other"])), "namespaces"),
        ] {
            assert_eq!(own.exceeded_by(&beyond), Some(field), "{beyond:?}");
            assert_eq!(Reach::Everywhere.exceeded_by(&beyond), None);
        }
    }
}
