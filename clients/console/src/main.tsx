import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './fonts.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';
import './styles/sessions.css';
import './styles/charts.css';
import './styles/security.css';
import './styles/workspace.css';
import './styles/narrow.css';
import { App } from './app.tsx';
import { createQueryClient } from './api/queries.ts';
import { rememberKeys } from './parts/shortcuts.ts';
import { applyTheme } from './shell/theme.ts';

applyTheme();
rememberKeys();
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the id root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={createQueryClient()}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
