"""The OpenAPI document, checked by tools of others."""
