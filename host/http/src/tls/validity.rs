//! The validity period of a certificate, which rustls does not expose.
//!
//! `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version OPTIONAL, serialNumber, signature, issuer,
//! validity SEQUENCE { notBefore Time, notAfter Time }, ... } ... }` (RFC 5280, section 4.1).

use std::time::SystemTime;

use super::der::{Der, SEQUENCE};

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) not_before: SystemTime,
    pub(super) not_after: SystemTime,
}

// === impl Validity ===

impl Validity {
    /// Reads the period from DER; `None` if it is no X.509 certificate.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let mut certificate = Der(Der(certificate).expect(SEQUENCE)?);
        let mut fields = Der(certificate.expect(SEQUENCE)?);
        if fields.0.first() == Some(&VERSION) {
            fields.next()?;
        }
        fields.expect(INTEGER)?;
        fields.expect(SEQUENCE)?;
        fields.expect(SEQUENCE)?;
        let mut validity = Der(fields.expect(SEQUENCE)?);
        Some(Self { not_before: validity.time()?, not_after: validity.time()? })
    }

    /// Says why the certificate is not valid at a time, if it is not.
    pub(super) fn objection(self, now: SystemTime) -> Option<String> {
        let at = humantime::format_rfc3339_seconds;
        if now > self.not_after {
            return Some(format!("expired at {}", at(self.not_after)));
        }
        (now < self.not_before).then(|| format!("is valid from {} on, not yet", at(self.not_before)))
    }
}

// === impl Der ===

impl Der<'_> {
    /// `YYMMDDHHMMSSZ`, years from 1950 on, or `YYYYMMDDHHMMSSZ`: the only forms that RFC 5280 allows.
    fn time(&mut self) -> Option<SystemTime> {
        let (tag, value) = self.next()?;
        let digits = std::str::from_utf8(value).ok()?.strip_suffix('Z')?;
        let digits = match tag {
            UTC_TIME if digits.get(..2)? < "50" => format!("20{digits}"),
            UTC_TIME => format!("19{digits}"),
            GENERALIZED_TIME => digits.to_owned(),
            _ => return None,
        };
        if digits.len() != 14 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let part = |from: usize| &digits[from..from + 2];
        let (date, time) = ([&digits[..4], part(4), part(6)].join("-"), [part(8), part(10), part(12)].join(":"));
        humantime::parse_rfc3339(&format!("{date}T{time}Z")).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn certificate(from: (i32, u8, u8), to: (i32, u8, u8)) -> Vec<u8> {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["plimsoll.test".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
        params.not_after = rcgen::date_time_ymd(to.0, to.1, to.2);
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn both_forms_of_time_are_read() {
        let at = |text: &str| humantime::parse_rfc3339(text).unwrap();
        // Years from 2050 on are written in the long form.
        let validity = Validity::of(&certificate((1999, 12, 31), (2051, 2, 3))).unwrap();
        assert_eq!(validity.not_before, at("1999-12-31T00:00:00Z"));
        assert_eq!(validity.not_after, at("2051-02-03T00:00:00Z"));
    }

    #[test]
    fn what_is_not_valid_says_since_when() {
        let validity = Validity::of(&certificate((2001, 1, 1), (2002, 1, 1))).unwrap();
        let objection = |year: u64| validity.objection(UNIX_EPOCH + Duration::from_hours((year - 1970) * 8766 + 1000));
        assert_eq!(objection(1999).unwrap(), "is valid from 2001-01-01T00:00:00Z on, not yet");
        assert_eq!(objection(2001), None);
        assert_eq!(objection(2003).unwrap(), "expired at 2002-01-01T00:00:00Z");
    }

    #[test]
    fn no_prefix_and_no_change_of_a_byte_makes_it_panic() {
        let whole = certificate((2001, 1, 1), (2002, 1, 1));
        for end in 0..whole.len() {
            // Content after the dates is not parsed, but its lengths are checked.
            assert_eq!(Validity::of(&whole[..end]), None, "{end}");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                let _ = Validity::of(&changed);
            }
        }
    }
}
