// Endpoint addresses in settings: which are valid, and how credentials in them are hidden.

/** A check for options whose value is an endpoint's address. */
export function httpUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s/]+/i.test(text) || !URL.canParse(text)) return 'an http:// or https:// address';
  const { username, password } = new URL(text);
  return decoded(username + password) === undefined ? 'a user name and password that write % as %25' : undefined;
}

/** The password in an address, as written and percent-decoded. A proxy's address may lack a scheme. */
export function passwordsIn(text: string): readonly string[] {
  const written = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^\s/:@]*:([^\s@]+)@/i.exec(text)?.[1];
  return written === undefined ? [] : [written, decoded(written) ?? written];
}

/** Percent-decodes a text; undefined if its encoding is invalid. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Removes user names and passwords from the addresses in a text, and the values of query parameters named like credentials. */
export function cutPasswords(text: string): string {
  return text
    .replace(/\b([a-z]+:\/\/)[^/\s]*@/gi, '$1')
    .replace(/([?&][^=&#\s]*(?:key|token|secret|sig|auth|pass|code)[^=&#\s]*=)[^&#\s"]+/gi, '$1[secret]');
}
