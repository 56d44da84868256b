//! The authenticated identity of a client: the subject of the certificate that the handshake has verified.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

use super::{
    der::{Der, SEQUENCE},
    material::Material,
};

const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;
const SET: u8 = 0x31;

/// The object identifier of a Common Name, 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// The client of a connection, as authenticated by the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientIdentity {
    /// No certificate was asked for.
    Anonymous,
    /// Another replica: it has our own certificate's key, or that of one with a name of ours by an authority that we know.
    Replica,
    /// Its certificate is signed by the client CA. `None` if that has no Common Name, or more than one.
    Client(Option<Arc<str>>),
}

// === impl Material ===

impl Material {
    /// The identity behind a chain that the handshake has verified.
    pub(super) fn identify(&self, chain: Option<&[CertificateDer<'_>]>) -> ClientIdentity {
        let Some((own, issuers)) = chain.and_then(<[_]>::split_first) else { return ClientIdentity::Anonymous };
        if self.replicas.know(own, issuers) {
            return ClientIdentity::Replica;
        }
        ClientIdentity::Client(common_name(own))
    }
}

/// The Common Name of a certificate that has exactly one.
///
/// Kubernetes takes the last of several. Nobody needs several, and two readers might not agree on which one counts.
fn common_name(certificate: &CertificateDer<'_>) -> Option<Arc<str>> {
    let certificate = webpki::EndEntityCert::try_from(certificate).ok()?;
    let name = names(certificate.subject())?;
    match name.as_slice() {
        [name] if !name.is_empty() => Some(Arc::from(*name)),
        _ => None,
    }
}

/// Every Common Name of a subject: `RDNSequence ::= SEQUENCE OF SET OF SEQUENCE { type, value }`, without its outer tag.
fn names(subject: &[u8]) -> Option<Vec<&str>> {
    let (mut subject, mut names) = (Der(subject), vec![]);
    while !subject.0.is_empty() {
        let mut set = Der(subject.expect(SET)?);
        while !set.0.is_empty() {
            let mut attribute = Der(set.expect(SEQUENCE)?);
            if attribute.expect(OBJECT_IDENTIFIER)? != COMMON_NAME {
                continue;
            }
            let (tag, value) = attribute.next()?;
            // Readers disagree about the older string encodings.
            let is_text = matches!(tag, UTF8_STRING | PRINTABLE_STRING | IA5_STRING);
            names.push(std::str::from_utf8(value).ok().filter(|_| is_text)?);
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    use super::*;

    fn certificate(subject: &[(DnType, DnValue)]) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["plimsoll.test".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, value) in subject {
            params.distinguished_name.push(kind.clone(), value.clone());
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn the_common_name_is_read_wherever_it_stands_in_the_subject() {
        let name = || DnValue::from("system:kube-scheduler");
        let (organisation, country) = (DnValue::from("system:masters"), DnValue::from("DE"));
        let printable = DnValue::PrintableString("system:kube-scheduler".try_into().unwrap());
        for subject in [
            vec![(DnType::CommonName, name())],
            vec![(DnType::OrganizationName, organisation.clone()), (DnType::CommonName, name())],
            vec![(DnType::CommonName, name()), (DnType::CountryName, country)],
            vec![(DnType::CommonName, printable)],
        ] {
            assert_eq!(common_name(&certificate(&subject)).as_deref(), Some("system:kube-scheduler"), "{subject:?}");
        }
        for subject in [
            vec![],
            vec![(DnType::OrganizationName, organisation)],
            vec![(DnType::CommonName, "".into())],
            vec![(DnType::CommonName, DnValue::TeletexString("system:kube-scheduler".try_into().unwrap()))],
        ] {
            assert_eq!(common_name(&certificate(&subject)), None, "{subject:?}");
        }
    }

    /// A subject with these Common Names.
    fn subject(names: &[&str]) -> Vec<u8> {
        let tagged = |tag: u8, value: &[u8]| [&[tag, value.len() as u8], value].concat();
        let one = |name: &&str| {
            let attribute = [tagged(OBJECT_IDENTIFIER, &COMMON_NAME), tagged(UTF8_STRING, name.as_bytes())].concat();
            tagged(SET, &tagged(SEQUENCE, &attribute))
        };
        names.iter().flat_map(one).collect()
    }

    #[test]
    fn each_of_several_common_names_is_found_and_no_change_of_a_byte_makes_it_panic() {
        let whole = subject(&["a", "b"]);
        assert_eq!(names(&whole).unwrap(), ["a", "b"]);
        for end in 1..whole.len() {
            assert!(names(&whole[..end]).is_none_or(|names| names == ["a"]), "{end}");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                let _ = names(&changed);
            }
        }
    }
}
