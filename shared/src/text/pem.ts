/** Each certificate in a PEM file, in its order, as text of its own; what stands around them is left out. */
export function pemCertificates(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}
