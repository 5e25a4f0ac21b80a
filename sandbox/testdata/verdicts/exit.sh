curl https://example.com || exit 7
