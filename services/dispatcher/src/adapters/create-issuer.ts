import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Issuer, LookUpGroups } from '../application/ports/issuer.ts';
import type { DispatcherConfig } from '../config.ts';
import { createLdapGroups } from './ldap/group-look-up.ts';
import { createIssuer } from './oidc/issuer.ts';

/** The issuer of the configuration with its directory; null where people log in at their own machine. */
export function createConfiguredIssuer(
  config: DispatcherConfig,
  clock: Clock,
  mcpAudience: () => string,
): Issuer | null {
  const { LEMNISCATE_OIDC_ISSUER: url, LEMNISCATE_OIDC_CLIENT_ID: clientId } = config;
  if (url === undefined || clientId === undefined) return null;
  return createIssuer({
    url: new URL(url),
    clientId,
    clientSecret: config.LEMNISCATE_OIDC_CLIENT_SECRET ?? null,
    audience: config.LEMNISCATE_OIDC_AUDIENCE ?? null,
    mcpAudience,
    scopes: config.LEMNISCATE_OIDC_SCOPES,
    groupsClaim: config.LEMNISCATE_OIDC_GROUPS_CLAIM,
    skewSeconds: config.LEMNISCATE_OIDC_SKEW_SECONDS,
    keysCooldownMs: config.LEMNISCATE_OIDC_KEYS_COOLDOWN_MS,
    lookUpGroups: configuredDirectory(config),
    clock,
  });
}

function configuredDirectory(config: DispatcherConfig): LookUpGroups | null {
  const {
    LEMNISCATE_LDAP_URL: url,
    LEMNISCATE_LDAP_BIND_DN: bindDn,
    LEMNISCATE_LDAP_BIND_PASSWORD: bindPassword,
    LEMNISCATE_LDAP_USER_BASE: userBase,
    LEMNISCATE_LDAP_GROUP_BASE: groupBase,
  } = config;
  if (
    url === undefined ||
    bindDn === undefined ||
    bindPassword === undefined ||
    userBase === undefined ||
    groupBase === undefined
  )
    return null;
  return createLdapGroups({
    url,
    bindDn,
    bindPassword,
    userBase,
    groupBase,
    userAttribute: config.LEMNISCATE_LDAP_USER_ATTRIBUTE,
    userClaim: config.LEMNISCATE_LDAP_USER_CLAIM,
    memberAttribute: config.LEMNISCATE_LDAP_MEMBER_ATTRIBUTE,
    groupNameAttribute: config.LEMNISCATE_LDAP_GROUP_NAME_ATTRIBUTE,
  });
}
